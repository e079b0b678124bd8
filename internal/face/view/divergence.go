package view

import (
	"fmt"

	"waggle/internal/face/view/page"
	"waggle/operator/repair"
)

// DivergencePage shows how the journals contradict each other.
func DivergencePage(d *repair.Divergence) (p page.Page) {
	p.Line(page.Plain(fmt.Sprintf("seq %d: %s", d.Seq, d.Why)))
	return p
}
