// Package pattern compiles a regular expression when it is first asked for: most runs of the program need few of its
// expressions, and each costs its time.
//
//	var item = pattern.New(`^[0-9]+\.`)
//	found := item().MatchString(text)
package pattern

import (
	"regexp"
	"sync"
)

// New is the regular expression of a text, which is one of ours.
func New(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
