// Package faulttest has file operations of a team fail, one after the other: every open,
// write, flush and rename of its journals, snapshots, mailboxes and tasks. Leader and
// members live in the process of the test, over real files.
package faulttest
