package fresh_test

import (
	"slices"
	"testing"

	"waggle/operator/fresh"
	"waggle/protocol"
)

// TestNameOf: a name is the first words of a task that say something, free, and one that a member can
// have.
func TestNameOf(t *testing.T) {
	t.Parallel()
	for task, want := range map[string]string{
		"Fix the login page on mobile":                "fix-login-page",
		"fix\nthe second line":                        "fix",
		"  Please do it in the README  ":              "readme",
		"go test ./...":                               "go-test",
		"Internationalisation of everything there is": "internationalisation",
		"abcdefghijklmnopqrstuvwxyzabcdefgh":          "abcdefghijklmnopqrstuvwx",
		"Überprüfe die Größe":                         "berpr-fe-die",
		"修正する":                                        "task",
		"main":                                        "task-main",
		"42":                                          "task-42",
		"add tests":                                   "add-tests-3",
		"team lead":                                   "task-team-lead",
	} {
		taken := []string{"add-tests", "add-tests-2"}
		got := fresh.NameOf(task, func(n string) bool { return slices.Contains(taken, n) })
		if string(got) != want {
			t.Errorf("%q: %s, want %s", task, got, want)
		}
		if _, err := protocol.ParseNewMember(string(got)); err != nil {
			t.Errorf("%q: %v", task, err)
		}
	}
}
