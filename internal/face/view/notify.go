package view

import (
	"waggle/internal/face/view/page"
	"waggle/operator"
)

// NotifyDocument is `notify --json`.
type NotifyDocument struct {
	On       bool            `json:"on"`
	Changed  bool            `json:"changed"`
	Channels []NotifyChannel `json:"channels"`
	Trouble  string          `json:"trouble"` // the last error of a channel that has not worked since
}

// NotifyChannel is one way by which notices come.
type NotifyChannel struct {
	Name  string `json:"name"`
	State string `json:"state"` // here; missing; sent; failed
	Why   string `json:"why"`   // of missing and failed
}

// NotifyPage has a line for each channel.
func NotifyPage(d NotifyDocument) (p page.Page) {
	word := page.Warning("off")
	if d.On {
		word = page.Good("on")
	}
	p.Line(page.Strong("notices"), page.Plain("  "), word)
	t := page.Table{Head: []string{"CHANNEL", "STATE", "WHY"}, About: true}
	for _, c := range d.Channels {
		t.Rows = append(t.Rows, []string{c.Name, c.State, operator.Visible(c.Why)})
	}
	p.Table(t)
	if d.Trouble != "" {
		p.Line(page.Warning("last trouble"), page.Plain("  "+d.Trouble))
	}
	return p
}
