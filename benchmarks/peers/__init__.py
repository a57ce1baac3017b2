"""The models of other libraries with the weights of ours; tests and benchmarks compare them."""
