// Package policyview shows policy to people and programs: rules, hosts, ceilings, sandboxes, and how
// and why something was decided.
package policyview
