package home

import (
	"cmp"
	"slices"
)

// Running lists the processes of teams here that run, leaders and members, of all wire
// trees, by team.
func (h Home) Running() ([]Started, error) {
	dirs, err := h.dirs("*")
	if err != nil {
		return nil, err
	}
	var all []Started
	for _, path := range dirs {
		started, err := Dir{Path: path}.Started()
		if err != nil {
			return nil, err
		}
		for _, s := range started {
			if s.ID.Alive() {
				all = append(all, s)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Started) int {
		return cmp.Or(cmp.Compare(a.Team, b.Team), cmp.Compare(a.Root, b.Root), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}
