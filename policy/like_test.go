package policy

import (
	"encoding/json"
	"testing"

	"waggle/internal/test/testenv"
)

// TestLikeOf: calls are alike when their inputs are equal, or begin with the same words and have
// the same options, or have the same pattern of paths.
func TestLikeOf(t *testing.T) {
	bash := func(command string) Call {
		in, err := json.Marshal(map[string]string{"command": command})
		testenv.Must(t, err)
		return Call{Tool: "Bash", Input: in, Cwd: "/w"}
	}
	raw := func(tool, in string) Call { return Call{Tool: tool, Input: []byte(in), Cwd: "/w"} }
	for _, c := range []struct {
		a, b Call
		same bool
	}{
		{bash("go test ./a"), bash("go test ./b"), true},
		{bash("go test ./a"), bash("go test ./a"), true},
		{bash("go test -v ./a"), bash("go test -v ./a"), true},
		{bash("go test ./a"), bash("go test -exec 'sh x' ./a"), false},
		{bash("go test -v ./a"), bash("go test -v ./b"), false},
		{bash("go test ./a"), bash("go test GOFLAGS=-exec=x"), false},
		{bash("go test ./a"), bash("go test @options"), false},
		{bash("go test ./a"), bash("go test +x"), false},
		{bash("go test ./a"), bash("go vet ./a"), false},
		{bash("go test -exec ./x ./a"), bash("go test -exec ./y ./a"), false},
		{bash("go test -exec ./x ./a"), bash("go test -exec ./x ./b"), false}, // of high risk: alike only when equal
		{bash("go test -count=1 ./a"), bash("go test -count=1 ./b"), true},
		{bash("go test -count=1 ./a"), bash("go test -count=2 ./b"), false},
		{bash("git log -n 5"), bash("git log -n 7"), true},
		{bash("git log -n 5"), bash("git log -p 5"), false},
		{bash("npm run build -- 3"), bash("npm run build -- 4"), true},
		{bash("npm run build -- 3"), bash("npm run build -- --x 3"), false},
		{bash("go test ./a"), bash("go test ./a; id"), false},
		{bash("go test ./a"), bash("go test $X"), false},
		{bash("go test ./a"), bash("X=1 go test ./a"), false},
		{raw("Bash", `{"command":"go test ./a","description":"one"}`), raw("Bash", `{"command":"go test ./b","description":"two"}`), true},
		{raw("Bash", `{"command":"go test ./a"}`), raw("Bash", `{"command":"go test ./a","timeout":5}`), false},
		{raw("Bash", `{"command":"go test ./a","command":"id"}`), raw("Bash", `{"command":"go test ./a"}`), false},
		{raw("Edit", `{"file_path":"/w/s/a"}`), raw("Edit", `{"file_path":"/w/s/b"}`), true},
		{raw("Edit", `{"file_path":"/w/s/a"}`), raw("Edit", `{"file_path":"/w/s/b","new_string":"x"}`), false},
		{raw("Edit", `{"file_path":"/w/s/a"}`), raw("Edit", `{"file_path":"/w/t/a"}`), false},
		{raw("WebFetch", `{"url":"https://x.org/a"}`), raw("WebFetch", `{"url":"https://x.org/b"}`), false},
		{raw("Edit", `{"file_path":"/w/a"}`), raw("Edit", `{"file_path":"/w/a"}`), true},
		{raw("Other", `{}`), raw("Bash", `{}`), false},
	} {
		a, _ := LikeOf(c.a)
		b, _ := LikeOf(c.b)
		if (a == b) != c.same {
			t.Errorf("%s %s and %s %s: alike %v, want %v (%q, %q)", c.a.Tool, c.a.Input, c.b.Tool, c.b.Input, a == b, c.same, a, b)
		}
	}
}
