package view

import (
	"fmt"

	"waggle/internal/view/page"
	"waggle/operator/decide"
)

// DivergencePage shows how the journals contradict each other.
func DivergencePage(d *decide.Divergence) (p page.Page) {
	p.Line(page.Plain(fmt.Sprintf("seq %d: %s", d.Seq, d.Why)))
	return p
}
