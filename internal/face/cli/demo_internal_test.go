package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/demo"
)

// TestStage: each act has one heading and one sentence, no line is wider than the terminal, and what stands behind a line is
// there with -v only.
func TestStage(t *testing.T) {
	t.Parallel()
	for _, verbose := range []bool{false, true} {
		for _, width := range []int{80, 60} {
			var out bytes.Buffer
			s := &stage{a: &app.App{Out: &out, Err: &out}, ctx: t.Context(), sources: verbose, width: width}
			for act := demo.ActStart; act <= demo.ActEnd; act++ {
				for range 2 {
					s.tell(demo.Line{Act: act, Who: "cleo", Text: "is busy, so the message " + strings.Repeat("when you are free ", 5) + "is held", Source: "inboxes/cleo.json, entry 3"})
				}
				for what, text := range map[string]string{"heading": act.Heading(), "sentence": act.Sentence()} {
					if n := strings.Count(strings.Join(strings.Fields(ansi.Strip(out.String())), " "), text); n != 1 || text == "" {
						t.Errorf("the %s of act %d is there %d times", what, act, n)
					}
				}
				if text := act.Sentence(); strings.Count(text, ".") != 1 || len(text) > 77 {
					t.Errorf("act %d: no short sentence: %q", act, text)
				}
			}
			for l := range strings.Lines(out.String()) {
				if w := ansi.StringWidth(strings.TrimRight(l, "\n")); w > width {
					t.Errorf("%d columns of %d: %s", w, width, l)
				}
			}
			if strings.Contains(out.String(), "inboxes/") != verbose {
				t.Errorf("verbose %v:\n%s", verbose, out.String())
			}
		}
	}
}
