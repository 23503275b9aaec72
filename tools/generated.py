"""What generators of checked-in files share: `GENERATOR FILE` writes the file, `GENERATOR FILE --check` compares it."""
import sys


def write_or_check(lines):
    path = next(a for a in sys.argv[1:] if a != "--check")
    text = "\n".join(lines) + "\n"
    if "--check" in sys.argv:
        with open(path) as file:
            if file.read() != text:
                sys.exit(f"{path} differs from what {sys.argv[0]} writes; run the generator again")
    else:
        with open(path, "w") as file:
            file.write(text)
