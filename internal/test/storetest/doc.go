// Package storetest tries the stores of a team at their worst, with real
// processes: programs that write the same files without care (a Node client, jq,
// an editor), writers that are killed at a random moment, and locks that nobody
// will give back. It holds nothing but tests; the sizes of make soak are in each.
package storetest
