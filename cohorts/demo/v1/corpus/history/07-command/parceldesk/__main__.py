"""The counter's command line."""

import argparse
import sys

from parceldesk.labels import label
from parceldesk.parcels import ParcelError
from parceldesk.queues import QUEUES, Desk
from parceldesk.rates import surcharge_total
from parceldesk.store import read_parcels
from parceldesk.tracking import is_valid


def main(argv=None):
    """Run one command on the scanner's file; return the exit status."""
    parser = argparse.ArgumentParser(prog="parceldesk")
    parser.add_argument("command", choices=("labels", "report", "drain", "check"))
    parser.add_argument("file", help="the scanner's file")
    arguments = parser.parse_args(argv)
    try:
        parcels = read_parcels(arguments.file)
    except (OSError, ParcelError) as error:
        print(error, file=sys.stderr)
        return 1
    return COMMANDS[arguments.command](parcels)


def print_labels(parcels):
    for parcel in parcels:
        print("\n".join(label(parcel)), end="\n\n")
    return 0


def print_report(parcels):
    print(f"parcels         {len(parcels)}")
    print(f"fuel surcharge  {surcharge_total(parcels)}")
    return 0


def print_order(parcels):
    desk = Desk()
    for parcel in parcels:
        desk.put(parcel)
    for parcel in desk.drain(QUEUES):
        print(parcel.queue, parcel.number)
    return 0


def print_wrong_numbers(parcels):
    wrong = [parcel.number for parcel in parcels if not is_valid(parcel.number)]
    for number in wrong:
        print(number)
    return 1 if wrong else 0


COMMANDS = {
    "labels": print_labels,
    "report": print_report,
    "drain": print_order,
    "check": print_wrong_numbers,
}

if __name__ == "__main__":
    sys.exit(main())
