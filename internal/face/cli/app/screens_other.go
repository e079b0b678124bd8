//go:build !unix

package app

import "os"

// HoldScreen does nothing where nothing repairs a terminal.
func (a *App) HoldScreen(*os.File) (release func()) { return func() {} }

// ScreenKilled is false where nothing repairs a terminal.
func (a *App) ScreenKilled(*os.File) bool { return false }
