// Package commands runs the commands of a member's agent: within the limits of its sandbox block,
// with their process groups on record, and with a count of their connections.
package commands
