package protocol

import "slices"

// AddField adds a field to a copy of task_progress's table and works by the copy until undo
// is called. The value of the field is kept in *value, beside the payload.
func AddField(name, in, doc string, value *string) (undo func()) {
	old := taskProgressTable
	row := &fieldOf[TaskProgress]{name: name, in: in, need: true, doc: doc,
		codec: text(func(*TaskProgress) *string { return value })}
	changed := *old
	changed.routing = nil
	changed.rows = nil
	for _, r := range old.rows {
		c := *r
		changed.rows = append(changed.rows, &c)
	}
	changed.rows = slices.Insert(changed.rows, len(changed.rows)-len(routing), row)
	built := changed.build()
	built.routing = old.routing
	tables[KindTaskProgress] = built
	containers = containersOf(tables)
	return func() {
		tables[KindTaskProgress] = old
		containers = containersOf(tables)
	}
}
