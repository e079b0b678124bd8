package view

import "waggle/operator/inspect"

// PlaceDocument is where a member works.
type PlaceDocument struct {
	Team   string `json:"team"`
	Member string `json:"member"`
	Path   string `json:"path"`   // the top level of its worktree, else its directory
	Branch string `json:"branch"` // of the worktree; "" without one
}

// Place is the document of where a member works.
func Place(p *inspect.Place) PlaceDocument {
	return PlaceDocument{p.Team, p.Member, p.Path, p.Branch}
}
