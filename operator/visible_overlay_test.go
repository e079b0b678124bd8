package operator

import "testing"

// TestVisibleOverlays: a mark that is drawn through a letter, or around it, makes
// another letter of it for a reader.
func TestVisibleOverlays(t *testing.T) {
	for in, want := range map[string]string{
		"r\u0336m": `r\u{0336}m`, "l\u0335": `l\u{0335}`, "a\u20dd": `a\u{20dd}`, "7\u20e3": `7\u{20e3}`, "x\u0489": `x\u{0489}`,
		"a\u0301": "a\u0301", "e\u0323\u0302": "e\u0323\u0302",
	} {
		if got := Visible(in); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
}
