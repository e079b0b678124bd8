package decide_test

import (
	"errors"
	"strings"
	"testing"

	"waggle/internal/test/operatortest"
	"waggle/operator"
	"waggle/operator/decide"
)

func TestParseNetTarget(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in, host, port string
		any            bool
		kind           operator.Kind
	}{
		{"db.internal:5432", "db.internal", "5432", false, 0},
		{"Example.COM", "example.com", "", false, 0},
		{"example.com:*", "example.com", "", true, 0},
		{"*.example.co.uk:443", "*.example.co.uk", "443", false, 0},
		{"bücher.example:443", "xn--bcher-kva.example", "443", false, 0},
		{"10.0.0.1:80", "10.0.0.1", "80", false, 0},
		{"my_host:80", "my_host", "80", false, 0},
		{"*.com", "", "", false, operator.Refused},
		{"*.co.uk:443", "", "", false, operator.Refused},
		{"*.github.io", "", "", false, operator.Refused},
		{"*.internal", "", "", false, operator.Refused},
		{"*.0.0.1", "", "", false, operator.Refused},
		{"*", "", "", false, operator.Usage},
		{"*.*.org", "", "", false, operator.Usage},
		{"a*.org", "", "", false, operator.Usage},
		{"example.com:", "", "", false, operator.Usage},
		{"example.com:0", "", "", false, operator.Usage},
		{"example.com:080", "", "", false, operator.Usage},
		{"example.com:65536", "", "", false, operator.Usage},
		{"https://example.com/", "", "", false, operator.Usage},
		{"::1", "::1", "", false, 0},
		{"[::1]:443", "::1", "443", false, 0},
		{"[::1", "", "", false, operator.Usage},
		{"", "", "", false, operator.Usage},
	} {
		got, err := decide.ParseNetTarget(c.in)
		operatortest.Is(t, c.in, err, c.kind, "")
		if err == nil && (got.Host != c.host || got.Port != c.port || got.Any != c.any) {
			t.Errorf("%s is %+v", c.in, got)
		}
	}
}

func TestShownHost(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"example.com":           "example.com:443",
		"xn--bcher-kva.example": "xn--bcher-kva.example:443 (bücher.example)",
		"bücher.example":        "bücher.example:443 (xn--bcher-kva.example)",
		"xn--pple-43d.com":      "xn--pple-43d.com:443 (аpple.com)", // the first letter is Cyrillic
	} {
		if got := decide.ShownHost(in, "443"); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
}

func TestParseToolCall(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Bash(go test (x))":                  `Bash {"command":"go test (x)"}`,
		"Read(a.go)":                         `Read {"file_path":"a.go"}`,
		"WebFetch(example.com/x)":            `WebFetch {"url":"https://example.com/x"}`,
		"WebFetch(http://example.com/)":      `WebFetch {"url":"http://example.com/"}`,
		"TaskList":                           `TaskList {}`,
		`{"tool":"X","input":{"a":1}}`:       `X {"a":1}`,
		`{"tool":"X","input":{},"cwd":"/y"}`: `X {}`,
	} {
		c, err := decide.ParseToolCall(in, "/work")
		if got := c.Tool + " " + string(c.Input); err != nil || got != want {
			t.Errorf("%s is %s, %v; want %s", in, got, err, want)
		}
	}
	for _, in := range []string{"", "Bash(x", "(x)", "Task(x)", `{"tool":"X"}`, `{"Tool":"X","input":{}}`, `{"tool":7,"input":{}}`, "{"} {
		_, err := decide.ParseToolCall(in, "/work")
		operatortest.Is(t, in, err, operator.Usage, "")
	}
}

// The id of a group follows from exactly the requests in it, in any order.
func TestGroups(t *testing.T) {
	t.Parallel()
	q := func(id, member, pattern, risk, digest string) decide.Request {
		return decide.Request{PendingItem: decide.PendingItem{ID: id, Kind: "permission_request", Member: member, Tool: "Bash", Risk: risk, Digest: digest}, Pattern: pattern}
	}
	a, b := q("1", "bob", "Bash(go test:*)", "medium", "d1"), q("2", "ada", "Bash(go test:*)", "medium", "d2")
	c, d := q("3", "bob", "Bash(go test:*)", "high", "d3"), q("4", "bob", "Bash(ls:*)", "low", "d4")
	gs := decide.Groups([]decide.Request{c, a, b, d})
	if len(gs) != 3 || gs[0].Batch || !gs[1].Batch || gs[1].Count != 2 || strings.Join(gs[1].Members, " ") != "ada bob" {
		t.Fatalf("%+v", gs)
	}
	if again := decide.Groups([]decide.Request{b, a}); again[0].ID != gs[1].ID {
		t.Errorf("the same requests are %s and %s", gs[1].ID, again[0].ID)
	}
	if other := decide.Groups([]decide.Request{a, b, q("5", "eve", "Bash(go test:*)", "medium", "d5")}); other[0].ID == gs[1].ID {
		t.Error("a request joined the group, and its id stayed")
	}
	host := q("6", "bob", "net x.org", "low", "d6")
	host.Kind = "sandbox_permission_request"
	if decide.Groups([]decide.Request{host})[0].Batch {
		t.Error("a host is answered by a group")
	}
	budget := q("7", "bob", "Budget", "low", "d7")
	budget.Tool = "Budget"
	if decide.Groups([]decide.Request{budget})[0].Batch {
		t.Error("a budget is raised by a group")
	}
}

func TestErrorsSayWhatIsNear(t *testing.T) {
	t.Parallel()
	_, err := decide.ParseNetTarget("*.com")
	var e *operator.Error
	if !errors.As(err, &e) || !strings.Contains(e.Msg, "public suffix") || e.Advice == "" {
		t.Errorf("%v", err)
	}
}
