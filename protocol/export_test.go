package protocol

// AddField adds a field to a copy of task_progress's table and works by the copy until undo
// is called. The value of the field is kept in *value, beside the payload.
func AddField(name, in, doc string, value *string) (undo func()) {
	old := taskProgressTable
	row := &fieldOf[TaskProgress]{name: name, in: in, need: true, doc: doc,
		codec: textCodec(text, func(*TaskProgress) *string { return value }, nil)}
	changed := *old
	changed.rows = nil
	for _, r := range old.rows[:len(old.rows)-len(routing)] { // build adds the keys of routing
		c := *r
		changed.rows = append(changed.rows, &c)
	}
	changed.rows = append(changed.rows, row)
	tables[KindTaskProgress] = changed.build()
	containers = containersOf(tables)
	return func() {
		tables[KindTaskProgress] = old
		containers = containersOf(tables)
	}
}
