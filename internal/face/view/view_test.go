package view_test

import "waggle/internal/face/view/viewtest"

var (
	at       = viewtest.At
	now      = viewtest.Now
	golden   = viewtest.Golden
	samePage = viewtest.Page
	same     = viewtest.Same
	lines    = viewtest.Lines
	spell    = viewtest.Spell
)
