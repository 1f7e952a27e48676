"""Simulated pairs of reads: inserts of all lengths, adapters, qualities that fall towards
the end, tails of G and T, N, gaps, duplicates, and variable read lengths.

The reads depend on the seed alone. The record of fastp's results is for exactly these reads,
so every random number must be drawn in this order.
"""
import random

ADAPTERS = (
    "AGATCGGAAGAGCACACGTCTGAACTCCAGTCA",
    "AGATCGGAAGAGCGTCGTGTAGGGAAAGAGTGT",
)
INDEXES = (("ACGTACGT", "TTGCAAGC", "GGATCCAA"), ("TTGAACCA", "CCAATTGG"))
DUPLICATES = 0.15


def reverse_complement(seq):
    return seq[::-1].translate(str.maketrans("ACGT", "TGCA"))


class Simulator:
    def __init__(self, seed, instrument):
        self.random = random.Random(seed)
        self.instrument = instrument
        genome = self.bases(200_000)
        # A long homopolymer and a repeat.
        self.genome = genome[:50_000] + "A" * 60 + "CA" * 50 + genome[50_000:]
        self.fragments = []

    def bases(self, count):
        return "".join(self.random.choice("ACGT") for _ in range(count))

    def one_in(self, probability):
        return self.random.random() < probability

    def fragment(self):
        """Returns the position and length of an insert."""
        if self.fragments and self.one_in(DUPLICATES):
            return self.random.choice(self.fragments[-5000:])
        kind = self.random.random()
        mean, deviation = (60, 40) if kind < 0.15 else (220, 60)
        length = max(0, int(self.random.gauss(mean, deviation)))
        if kind < 0.005:
            length = self.random.randint(0, 6)
        start = self.random.randrange(len(self.genome) - length - 1)
        self.fragments.append((start, length))
        return start, length

    def qualities(self, length, second):
        base = 37 if self.one_in(0.85) else 28
        fall = self.random.random()
        found = []
        for at in range(length):
            mean = base - (at / length) ** 2 * (14 if fall < 0.3 else 5) - (2 if second else 0)
            quality = int(self.random.gauss(mean, 4))
            found.append(max(2, min(40 if second else 41, quality)))
        if fall < 0.08:
            start = self.random.randint(0, length)
            found[start:] = [2] * (length - start)
        return found

    def read(self, insert, adapter, length, second):
        seq = insert + adapter
        missing = length - len(seq)
        if missing > 0:
            # Instruments with two colours see G where there is nothing.
            if self.instrument == "@A00" or self.one_in(0.3):
                seq += "G" * missing
            else:
                seq += self.bases(missing)
        qualities = self.qualities(length, second)
        bases = list(seq[:length])
        for at, quality in enumerate(qualities):
            if self.one_in(10 ** (-quality / 10) * 0.7):
                bases[at] = self.random.choice("ACGT")
            if quality == 2 and self.one_in(0.1):
                bases[at] = "N"
        for probability, base in ((0.01, "G"), (0.005, "T")):
            if self.one_in(probability):
                start = self.random.randint(0, length)
                bases[start:] = base * (length - start)
        if self.one_in(0.003):
            bases[::7] = "N" * len(bases[::7])
        if self.one_in(0.01) and length > 40:
            del bases[self.random.randint(5, length - 5)]
            bases.append("A")
        return "".join(bases), "".join(chr(33 + quality) for quality in qualities)

    def pair(self, number, lengths):
        start, length = self.fragment()
        insert = self.genome[start : start + length]
        inserts = [insert, reverse_complement(insert)]
        if self.one_in(0.5):
            inserts.reverse()
        lengths = lengths(self.random)
        reads = [self.read(inserts[at], ADAPTERS[at], lengths[at], at == 1) for at in (0, 1)]
        # A UMI was once drawn here.
        self.bases(8)
        index = "+".join(self.random.choice(some) for some in INDEXES)
        lane, tile = 1 + number % 4, 1101 + number % 20
        name = f"{self.instrument}:33:HX:{lane}:{tile}:{self.random.randint(1000, 30000)}:{number}"
        return [
            f"{name} {at + 1}:N:0:{index}\n{seq}\n+\n{quality}\n"
            for at, (seq, quality) in enumerate(reads)
        ]


def fixed(length):
    return lambda random: (length, length)


def variable(longest):
    def draw(random):
        shortest = 0 if random.random() < 0.002 else 20
        return random.randint(shortest, longest), random.randint(20, longest)

    return draw


def write(prefix, seed, instrument, lengths, pairs=1500):
    """Writes a file for each read of the pairs, and one with the pairs interleaved."""
    simulator = Simulator(seed, instrument)
    made = [simulator.pair(number, lengths) for number in range(pairs)]
    for name, texts in (
        ("1", (one for one, _ in made)),
        ("2", (two for _, two in made)),
        ("il", (one + two for one, two in made)),
    ):
        with open(f"{prefix}_{name}.fq", "w") as file:
            file.writelines(texts)
