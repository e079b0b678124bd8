#!/bin/sh
# The test of total.sh: exits 1 when the sum is wrong.
got=$(sh ./total.sh 1 2 3)
[ "$got" = 6 ] || { echo "total 1 2 3 is $got, want 6" >&2; exit 1; }
echo ok
