// Package claudesessions lists the Claude Code sessions of this user from the registry
// that the client keeps: sessions/<pid>.json below its config directory.
//
//	entries, problems := claudesessions.List(filepath.Join(configDir, "sessions"))
//	for _, e := range entries { fmt.Println(e.PID, e.Cwd, e.Status) }
//
// List returns only sessions whose process runs: the pid must be alive and must have
// the start time that the file records, so that a recycled pid is no session. Fields
// are read by their exact names, unknown fields are ignored, and sizes are bounded.
// Nothing here is an authority: any process of the user can write these files.
package claudesessions
