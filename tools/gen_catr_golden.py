#!/usr/bin/python3
"""Writes tests/golden/catr.csv: the CATR flow and its Jacobian by 50-digit quadrature (mpmath), not by the closed form
under test. x' = x + int_0^T (v + a t) cos(th + w t) dt, y' with sin; the Jacobian is the derivative under the integral."""

from mpmath import cos, mp, mpf, quad, sin

mp.dps = 50
STATES = ("x", "y", "v", "a", "th", "w")
CASES = [(v, a, th) for v, a, th in (("0", "0", "0.3"), ("13", "0", "-0.5"), ("13", "2.5", "2"), ("-4.5", "-1", "3"))]
TURN_RATES = ("0", "1e-12", "-1e-9", "1e-6", "1e-3", "-0.01", "0.5", "-2", "6.283185307179586")
TIMES = ("0", "0.001", "0.1", "10", "-1")


def integral(f, span):
    pieces = max(1, int(abs(span) * 2))
    return quad(f, [span * i / pieces for i in range(pieces + 1)])


def row(v, a, th, w, span):
    x, y = mpf("1.25"), mpf(-3)

    def moment(k, trig):
        return integral(lambda t: t**k * trig(th + w * t), span)

    c, s = [moment(k, cos) for k in range(4)], [moment(k, sin) for k in range(4)]
    dx, dy = v * c[0] + a * c[1], v * s[0] + a * s[1]
    jacobian = [[1, 0, c[0], c[1], -dy, -(v * s[1] + a * s[2])], [0, 1, s[0], s[1], dx, v * c[1] + a * c[2]],
                [0, 0, 1, span, 0, 0], [0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, span], [0, 0, 0, 0, 0, 1]]
    following = [x + dx, y + dy, v + a * span, a, th + w * span, w]
    return [x, y, v, a, th, w, span, *following, *(entry for line in jacobian for entry in line)]


def main():
    print("# CATR state and Jacobian by 50-digit quadrature: tools/gen_catr_golden.py.")
    print(",".join([*STATES, "dt", *(f"{s}_next" for s in STATES), *(f"J_{i}_{j}" for i in STATES for j in STATES)]))
    for v, a, th in CASES:
        for k, w in enumerate(TURN_RATES):
            for span in (TIMES if k % 4 == 0 else TIMES[2:4]):
                values = row(*(mpf(float(text)) for text in (v, a, th, w, span)))
                print(",".join(repr(float(value)) for value in values))


if __name__ == "__main__":
    main()
