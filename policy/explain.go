package policy

import (
	"encoding/json"
	"slices"
	"strings"

	"waggle/internal/cmdline"
	"waggle/internal/json/jsonobj"
)

// PatternOf names the group of similar calls to which a call belongs: the widest rule that Suggest
// proposes for it. A call without a proposal is a group by itself: its pattern is its tool and its
// input. The name is for people and for grouping, never a permission.
func PatternOf(c Call) string {
	if rules := Suggest(c); len(rules) > 0 {
		return rules[len(rules)-1].String()
	}
	return c.Tool + " " + string(c.Input)
}

// LikeOf names the calls that one answer may cover together with c, and what they share. Calls with
// the same name have the same input; or
//
//   - each is one plain command of Bash, they begin with the same words, and every
//     option of theirs is the same, with the word behind it unless that is a number:
//     an option makes another program of a command (go test -exec, git -c);
//   - or they have the same pattern of paths;
//
// and nothing else in their inputs differs but a description.
func LikeOf(c Call) (name, pattern string) {
	pattern = PatternOf(c)
	var fields map[string]json.RawMessage
	prefix := c.Tool == "Bash" && strings.HasSuffix(pattern, ":*)")
	glob := c.Tool != "Bash" && strings.HasSuffix(pattern, "/**)")
	if (prefix || glob) && json.Unmarshal(c.Input, &fields) == nil {
		var same []string
		ok := glob
		if prefix {
			same, ok = options(fields["command"])
			delete(fields, "command")
		} else {
			delete(fields, "file_path")
		}
		delete(fields, "description")
		rest, err := jsonobj.Marshal(fields) // keys in order
		words, werr := jsonobj.Marshal(same)
		if ok && err == nil && werr == nil {
			return "like " + pattern + " " + string(words) + " " + string(rest), pattern
		}
	}
	exact := c.Tool + " " + string(c.Input)
	return "equal " + exact, exact
}

// options are the words of a plain command, besides its beginning, that calls must share to be
// alike.
func options(command json.RawMessage) (same []string, ok bool) {
	var text string
	if json.Unmarshal(command, &text) != nil {
		return nil, false
	}
	words, err := cmdline.PlainCommand(text)
	if err != nil {
		return nil, false
	}
	for i, w := range words {
		if !option(w) && (i == 0 || !takesWord(words[i-1]) || number(w)) {
			continue
		}
		same = append(same, w)
	}
	return same, true
}

// option reports a word that may change what a command does: an option, a file of options, an
// assignment.
func option(word string) bool {
	return word != "" && strings.ContainsRune("-+@", rune(word[0])) || strings.Contains(word, "=")
}

// takesWord reports an option whose value may be the next word.
func takesWord(word string) bool {
	return strings.HasPrefix(word, "-") && word != "--" && !strings.Contains(word, "=")
}

func number(word string) bool { return word != "" && strings.Trim(word, "0123456789") == "" }

// Covers reports whether the rule, as the only allow rule, allows a call, deny rules and modes
// aside.
func (r Rule) Covers(c Call) bool {
	q, err := newQuestion(c)
	if err != nil || q.doubt != "" {
		return false
	}
	return len(q.allowedBy(r)) > 0
}

// Explanation is a verdict and how it came about.
type Explanation struct {
	Verdict  Verdict
	Area     Area
	Readable bool // false: the input cannot be judged, and Area is not set
	Mode     ModeInfo
	Risk     Risk
	Rules    []RuleMatch // deny rules first, as they are looked at
}

// RuleMatch is what one rule makes of a call.
type RuleMatch struct {
	Rule  Rule
	Deny  bool
	Match string // Matches, MayMatch or NoMatch
	Mute  bool   // an allow rule that the mode disables
}

// The effects of a rule on a call.
const (
	Matches  = "matches"
	MayMatch = "may match" // a deny rule; whether it matches is known only when the call runs
	NoMatch  = "does not match"
)

// Explain is Judge with its reasons: every rule, and what it makes of the call by
// itself.
func (p Policy) Explain(c Call) Explanation {
	e := Explanation{Verdict: p.Judge(c), Risk: RiskOf(c)}
	e.Mode, _ = lookupMode(p.Mode)
	q, err := newQuestion(c)
	if err != nil {
		return e
	}
	e.Area, e.Readable = q.area, true
	for _, r := range p.Deny {
		m := RuleMatch{Rule: r, Deny: true, Match: NoMatch}
		switch q.deniedBy(r) {
		case cmdline.Yes:
			m.Match = Matches
		case cmdline.Maybe:
			m.Match = MayMatch
		}
		e.Rules = append(e.Rules, m)
	}
	together := q.allowedBy(p.Allow...) // a compound text may need several rules
	for _, r := range p.Allow {
		m := RuleMatch{Rule: r, Match: NoMatch, Mute: !e.Mode.rulesReach(q.area)}
		if slices.Contains(q.allowedBy(r), r.String()) || slices.Contains(together, r.String()) {
			m.Match = Matches
		}
		e.Rules = append(e.Rules, m)
	}
	return e
}
