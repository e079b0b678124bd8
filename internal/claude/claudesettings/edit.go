package claudesettings

import (
	"slices"
	"strconv"

	"waggle/internal/json/jsonc"
)

// Install returns settings with exactly one entry of ours for every event, for program. Existing
// entries keep their place; those of another program, or with another time-out, are changed in
// place, and second ones of an event are removed. recorded is a program whose entries are ours
// whatever its name.
func (c Client) Install(data []byte, program, recorded string) ([]byte, error) {
	f, err := c.parse(data)
	if err != nil {
		return nil, err
	}
	if f.doc.Root == nil {
		f.doc.SetRoot([]jsonc.New{{Key: "hooks", Value: c.groups(c.Events(), program)}})
		return f.doc.Bytes()
	}
	seen := map[string]bool{}
	data, err = c.removeEntries(data, data, recorded, func(e Entry) bool {
		second := seen[e.Event]
		seen[e.Event] = true
		return second
	})
	if err != nil {
		return nil, err
	}
	if f, err = c.parse(data); err != nil {
		return nil, err
	}
	missing := f.update(program, recorded)
	switch {
	case len(missing) == 0:
	case f.hooks == nil:
		f.doc.Append(f.doc.Root, jsonc.New{Key: "hooks", Value: c.groups(missing, program)})
	default:
		var whole []jsonc.New
		for _, ev := range missing {
			if list := f.hooks.Get(ev.Name); list != nil {
				f.doc.Append(list, jsonc.New{Value: c.group(ev, program)})
			} else {
				whole = append(whole, c.groups([]Event{ev}, program)...)
			}
		}
		f.doc.Append(f.hooks, whole...)
	}
	return f.doc.Bytes()
}

// groups are the members of hooks for events.
func (c Client) groups(events []Event, program string) []jsonc.New {
	var list []jsonc.New
	for _, ev := range events {
		list = append(list, jsonc.New{Key: ev.Name, Value: []any{c.group(ev, program)}})
	}
	return list
}

// update brings the entries that are there up to date and returns the events without.
func (f *file) update(program, recorded string) (missing []Event) {
	entries := f.entries(recorded)
	for _, ev := range f.of.Events() {
		i := slices.IndexFunc(entries, func(e Entry) bool { return e.Ours && e.Event == ev.Name })
		if i < 0 {
			missing = append(missing, ev)
			continue
		}
		e, h := entries[i], f.handlerOf(entries[i])
		if want := f.of.Command(program, ev.Name); e.Command != want {
			f.doc.Replace(h.Get("command"), want)
		}
		switch t := h.Get("timeout"); {
		case t == nil:
			f.doc.Append(h, jsonc.New{Key: "timeout", Value: ev.Timeout})
		case e.Timeout != strconv.Itoa(ev.Timeout):
			f.doc.Replace(t, ev.Timeout)
		}
	}
	return missing
}

// Uninstall returns settings without the entries of ours, and without the groups, events
// and the hooks key that are empty because of that and were not in original: the file as
// it was before an install; nil when it is not known, and then they go too.
func (c Client) Uninstall(data, original []byte, recorded string) ([]byte, error) {
	return c.removeEntries(data, original, recorded, func(Entry) bool { return true })
}

// removeEntries removes the entries of ours that which chooses.
func (c Client) removeEntries(data, original []byte, recorded string, which func(Entry) bool) ([]byte, error) {
	f, err := c.parse(data)
	if err != nil {
		return nil, err
	}
	old, err := c.parse(original)
	if err != nil {
		old = &file{doc: &jsonc.Document{}} // not known
	}
	gone := map[string]map[int][]int{} // event, group, handlers
	for _, e := range f.entries(recorded) {
		if !e.Ours || !which(e) {
			continue
		}
		if gone[e.Event] == nil {
			gone[e.Event] = map[int][]int{}
		}
		gone[e.Event][e.group] = append(gone[e.Event][e.group], e.handler)
	}
	if len(gone) == 0 {
		return data, nil
	}
	var events []string // that go as a whole
	for _, ev := range f.hooks.Items {
		if gone[ev.Key] != nil && f.removeGroups(ev, old, gone[ev.Key]) {
			events = append(events, ev.Key)
		}
	}
	if len(events) == len(f.hooks.Items) && !f.hooks.Commented() && old.hooks == nil {
		f.remove(f.doc.Root, old, old.doc.Root, func(i int) bool { return f.doc.Root.Items[i].Value == f.hooks })
	} else {
		f.remove(f.hooks, old, old.hooks, func(i int) bool { return slices.Contains(events, f.hooks.Items[i].Key) })
	}
	return f.doc.Bytes()
}

// removeGroups removes handlers of one event, and the groups that have no others. whole says that it
// removed nothing because the caller must remove the whole event.
func (f *file) removeGroups(ev jsonc.Item, old *file, gone map[int][]int) (whole bool) {
	var groups []int
	for g, handlers := range gone {
		if group := ev.Value.Items[g].Value; len(group.Get("hooks").Items) == len(handlers) && plain(group) {
			groups = append(groups, g)
		}
	}
	before := old.hooks.Get(ev.Key)
	if len(groups) == len(ev.Value.Items) && !ev.Value.Commented() && before == nil {
		return true
	}
	f.remove(ev.Value, old, before, func(i int) bool { return slices.Contains(groups, i) })
	for g, handlers := range gone {
		if !slices.Contains(groups, g) {
			list := ev.Value.Items[g].Value.Get("hooks")
			f.remove(list, old, nil, func(i int) bool { return slices.Contains(handlers, i) })
		}
	}
	return false
}

// plain reports whether a group contains only fields that an install writes.
func plain(group *jsonc.Value) bool {
	for _, it := range group.Items {
		if it.Key != "matcher" && it.Key != "hooks" {
			return false
		}
	}
	return !group.Commented() && !group.Get("hooks").Commented()
}

// remove removes items of a list. A list that becomes empty gets the form that it had when it was
// empty in the old file.
func (f *file) remove(v *jsonc.Value, old *file, before *jsonc.Value, which func(i int) bool) {
	all := len(v.Items) > 0
	for i := range v.Items {
		all = all && which(i)
	}
	if !all || v.Commented() {
		f.doc.Remove(v, which)
		return
	}
	inner := ""
	if before != nil && len(before.Items) == 0 && !before.Commented() {
		inner = old.doc.Inner(before)
	}
	f.doc.Empty(v, inner)
}
