// Package decidecmd has the commands about what waits for a person and what is on record of
// it: questions and answers, plans, hosts, modes, rules, hooks of sessions, audit.
package decidecmd
