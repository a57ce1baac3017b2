"""Record the phonemes again: `make phonemes`. It needs espeak-ng and lame (from apt-get).

espeak-ng speaks each phoneme alone; the silence is cut off, all get the same loudness, and lame
makes MP3 files, which every browser plays. book/assets/phonemes/README.md has their license.
"""

from __future__ import annotations

import io
import subprocess
import wave

import numpy as np
from numpy.typing import NDArray

from tools.inputs import ROOT

FOLDER = ROOT / "book" / "assets" / "phonemes"
RATE = 22_050  # samples per second, as espeak-ng makes them
HEADER = 44  # bytes before the samples of a WAV file
LOUDNESS = 0.1  # root mean square
QUIET = 0.02  # of the peak; what is quieter at either end is silence
RAMP = 66  # samples, 3 ms, that rise from zero and fall to it, so that nothing clicks

# How espeak-ng writes each phoneme. A consonant that would be too short or silent is doubled, or
# has a very short neutral vowel behind it (`@-`).
MNEMONICS = """
AA=A: AE=a AH=V AO=O: AW=aU AY=aI EH=E ER=3: EY=eI IH=I IY=i: OW=oU OY=OI UH=U UW=u:
B=b@- CH=tS D=d@- DH=DD F=ff G=g@- HH=hh@- JH=dZ@- K=k@- L=l@- M=mm N=n- NG=NN P=p@- R=r@-
S=ss SH=SS T=t@- TH=TT V=vv W=w@- Y=j@- Z=zz ZH=ZZ
"""


def speak(mnemonics: str) -> NDArray[np.float64]:
    """Return what espeak-ng says, as samples."""
    command = ["espeak-ng", "-v", "en-us", "-s", "130", "--stdout", f"[[{mnemonics}]]"]
    sound = subprocess.run(command, check=True, capture_output=True).stdout
    return np.frombuffer(sound[HEADER:], dtype="<i2").astype(np.float64)


def level(samples: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cut the silence off, soften both ends, and set the loudness."""
    loud = np.flatnonzero(np.abs(samples) > QUIET * np.abs(samples).max())
    samples = samples[loud[0] : loud[-1] + 1]
    from_end = np.minimum(np.arange(len(samples)), np.arange(len(samples))[::-1])
    samples = samples * np.minimum(1, from_end / RAMP)
    return samples * LOUDNESS / np.sqrt(np.mean(samples**2))


def main() -> None:
    """Write a file for each phoneme."""
    for pair in MNEMONICS.split():
        phoneme, mnemonics = pair.split("=")
        samples = (level(speak(mnemonics)) * 32767).round().astype("<i2")
        sound = io.BytesIO()
        with wave.open(sound, "wb") as file:
            file.setparams((1, 2, RATE, len(samples), "NONE", ""))
            file.writeframes(samples.tobytes())
        command = ["lame", "-b", "48", "--quiet", "-", str(FOLDER / f"{phoneme}.mp3")]
        subprocess.run(command, input=sound.getvalue(), check=True)


if __name__ == "__main__":
    main()
