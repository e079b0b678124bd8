package fresh

import (
	"fmt"
	"slices"
	"strings"

	"waggle/protocol"
)

const (
	nameWords = 3  // of a task's words in a name
	nameBytes = 24 // of a name, without its number
)

// fillers are words that say nothing of a task.
var fillers = strings.Fields("a an and are as at be by can do for from i in is it its me my of on or our please so that the their then there this to us we with you")

// NameOf derives a member's name from the first line of a task: its first words that say something.
// A name that is taken gets a number.
func NameOf(task string, taken func(string) bool) protocol.MemberName {
	line, _, _ := strings.Cut(strings.TrimSpace(task), "\n")
	base := ""
	n := 0
	for _, w := range strings.FieldsFunc(strings.ToLower(line), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
		longer := strings.TrimPrefix(base+"-"+w, "-")
		if slices.Contains(fillers, w) {
			continue
		}
		if n == nameWords || base != "" && len(longer) > nameBytes {
			break
		}
		base, n = longer[:min(len(longer), nameBytes)], n+1
	}
	if base == "" {
		base = "task"
	}
	if _, err := protocol.ParseNewMember(base); err != nil { // a reserved word, digits only
		base = "task-" + base
	}
	return numbered(base, taken)
}

// numbered is a name, with the first number from 2 on that makes it free when it is taken.
func numbered(base string, taken func(string) bool) protocol.MemberName {
	name := base
	for n := 2; taken(name); n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	return protocol.MemberName(name)
}
