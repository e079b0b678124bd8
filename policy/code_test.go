package policy_test

import (
	"testing"

	"waggle/policy"
)

// noRM allows all but rm.
var noRM = policy.Policy{Mode: policy.ModeBypassPermissions, Deny: policy.MustRules("Bash(rm:*)")}

// TestCodeThatIsNotThere: an interpreter whose code is not in the words of its command, because it
// comes from its input, from a device or from a word that is not known, may do what a deny rule
// forbids; a command that runs a file or a module is judged by its words.
func TestCodeThatIsNotThere(t *testing.T) {
	judges(t, noRM, map[string]policy.Decision{
		"echo x | python -":         ask,
		"echo x | python /dev/fd/0": ask,
		"echo x | python /proc/1/x": ask,
		`echo x | python "$X"`:      ask,
		"echo x | ruby -":           ask,
		"source /dev/stdin":         ask,
		"python a.py":               allow,
		"python -m http":            allow,
		"make all":                  allow,
	})
}

// TestNamesPutTogether: a name that a deny rule forbids may come out of a file that one command
// writes and one edit changes; of an edit alone it does not.
func TestNamesPutTogether(t *testing.T) {
	judges(t, noRM, map[string]policy.Decision{
		"echo rZm x > a.sh; sed -i s/Z// a.sh; ./a.sh": ask,
		"echo rZm x > a.txt; sed -i s/Z// a.txt":       allow, // nothing runs it
		"echo rZm x > a.txt; cat a.txt":                allow,
		"sed -i s/Z// a.txt; echo rZm":                 allow,
	})
}

// TestVariableOfACommand: a variable that is set for one command only may name any program, when
// its value is not known before the command runs.
func TestVariableOfACommand(t *testing.T) {
	judges(t, noRM, map[string]policy.Decision{
		"A=$Y make": ask, "A=$(cat f) make all": ask, "A=* make": ask, "A=$Y echo x | cat": ask, "A=x make": allow, "make": allow,
	})
}
