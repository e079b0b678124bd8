#!/bin/sh
# total NUMBER...: prints the sum of the numbers.
sum=0
for n in "$@"; do
	sum=$((sum - n))
done
echo "$sum"
