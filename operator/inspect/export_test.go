package inspect

import "waggle/control"

// Edited is the file that a call writes to.
func Edited(c *control.Call) string { return edited(c) }

// LastLooked is when the operator last looked at a team, and what they did then.
var LastLooked = lastLooked

// SecretKinds are the names of the kinds of secrets that a text is searched for.
func SecretKinds() []string {
	var all []string
	for _, f := range secretForms {
		all = append(all, f.Name)
	}
	for _, p := range secretPlaces {
		all = append(all, p.Name)
	}
	return all
}

// Conditions is the condition of each state.
var Conditions = conditions

// Culprit is the failed task for which a blocked one waits.
var Culprit = culprit
