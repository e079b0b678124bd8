package view_test

import (
	"waggle/internal/face/view/page"
	"waggle/internal/face/view/viewtest"
)

var (
	at       = viewtest.At
	now      = viewtest.Now
	golden   = viewtest.Golden
	samePage = viewtest.Page
	same     = viewtest.Same
	lines    = viewtest.Lines
	spell    = viewtest.Spell
)

// told is a document in the steps and at the time of the tests.
func told(doc any) page.Told { return page.Told{Doc: doc, Spell: spell, Now: now} }
