package inspect_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"waggle/internal/operatortest"
	"waggle/operator/inspect"
	"waggle/record"
)

// TestConditions: each state of health.go has a condition, and docs/members.md has it in its row.
func TestConditions(t *testing.T) {
	code, err := os.ReadFile("health.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "members.md"))
	if err != nil {
		t.Fatal(err)
	}
	states := regexp.MustCompile(`MemberState = "(.*)"`).FindAllStringSubmatch(string(code), -1)
	if len(states) < 15 {
		t.Fatalf("%d states", len(states))
	}
	for _, s := range states {
		is, ok := inspect.Conditions[inspect.MemberState(s[1])]
		if !ok {
			t.Errorf("%s has no condition", s[1])
		}
		row := regexp.MustCompile("(?m)^\\| `" + regexp.QuoteMeta(string(is)) + "` \\|.*`" + regexp.QuoteMeta(s[1]) + "`")
		if !row.Match(page) {
			t.Errorf("docs/members.md has no row with %s and %s", is, s[1])
		}
	}
}

// TestStates: each condition of a member comes once and in order, to who reads on and to who begins then.
func TestStates(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	r := operatortest.Team(t, op, "api", record.PolicySet{})
	open := func() *inspect.States {
		s, err := inspect.Of(op).States(t.Context(), "api")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	next := func(s *inspect.States) (words []string) {
		cs, err := s.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cs {
			if c.Time.IsZero() || c.Why == "" || c.Team != "api" {
				t.Errorf("%+v", c)
			}
			words = append(words, string(c.From)+">"+string(c.Is))
		}
		return words
	}
	is := func(what string, got []string, want string) {
		t.Helper()
		if g := strings.Join(got, " "); g != want {
			t.Errorf("%s: %s, want %s", what, g, want)
		}
	}
	s := open()
	is("at first", next(s), "")
	is("again", next(s), "")
	r.Asks("bob", operatortest.Bash("make x"))
	q := r.Pending(1)[0]
	is("bob asks", next(open()), ">needs-you")
	got := next(s)
	is("bob has joined, worked and asked", got[max(0, len(got)-1):], "working>needs-you")
	is("and again", next(s), "")
	for _, c := range s.Now() {
		if c.Member == "bob" && c.Handle != q.Handle {
			t.Errorf("%+v, want %s", c, q.Handle)
		}
	}
	if _, err := inspect.Of(op).States(t.Context(), "apy"); err == nil {
		t.Error("a team that is none has conditions")
	}
	if s.Over() || len(s.Dirs()) < 3 {
		t.Errorf("%v %v", s.Over(), s.Dirs())
	}
}
