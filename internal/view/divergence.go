package view

import (
	"fmt"

	"waggle/internal/view/page"
	"waggle/operator/decide"
)

// DivergenceDocument is a contradiction of the journals that stops every decision.
type DivergenceDocument struct {
	Team   string `json:"team"`
	Seq    uint64 `json:"seq"` // of its record: what an acknowledgement names
	Member string `json:"member"`
	Leader uint64 `json:"leader_seq"` // the seq of the leader's journal that the member's journal names
	Why    string `json:"why"`
	Lifted bool   `json:"acknowledged"`
}

// Divergence is the document of a disagreement.
func Divergence(d *decide.Divergence) DivergenceDocument { return DivergenceDocument(*d) }

// DivergencePage shows how the journals contradict each other.
func DivergencePage(d *decide.Divergence) (p page.Page) {
	p.Line(page.Plain(fmt.Sprintf("seq %d: %s", d.Seq, d.Why)))
	return p
}
