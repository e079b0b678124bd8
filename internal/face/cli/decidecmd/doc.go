// Package decidecmd has the commands that show and decide what waits for a person: requests and
// answers, plans, hosts, modes, rules, hooks of sessions, audit.
package decidecmd
