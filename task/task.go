// Package task is a team's shared task list, tasks/<team>/<n>.json, in the format and under the
// locks of Claude Code (protocol §4), and what each member leaves in its directory beside it: its
// log, its status, its artifacts. A change returns the payloads to send; the package sends nothing
// itself.
//
//	list, err := task.Open(root.TasksDir(name), name, task.Options{})
//	t, err := list.Create(ctx, task.Task{Subject: "Run the tests"})
//	t, err = list.Claim(ctx, t.ID, "tester")
//	t, err = list.Complete(ctx, t.ID, "tester")
//
//	log, err := task.OpenLog(list.MemberDir("tester"), task.LogOptions{})
//	files, err := task.Files(list.MemberDir("tester"))
//
// Guarantees: a task has one owner, however many claim it; an id is given once; a rewrite changes
// only the fields that were changed, so that unknown keys and key order stay; files appear and
// change whole. Task files have no authority: any program may have written them (trust §1).
//
// Locks: tasks/<team>/.lock.lock for operations on several tasks (create, dependencies, claim,
// delete), <n>.json.lock for one. They are the locks that Claude Code processes take (protocol
// §2.4, §4).
package task

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"waggle/internal/json/jsonobj"
)

// ID is a task's id: a decimal number as a string, never reused.
type ID string

// maxDigits keeps ids exact in programs that read them as floating point.
const maxDigits = 15

// number returns the id's value; 0 when the id is invalid: a valid one has no sign, no leading
// zero, and at most 15 digits.
func (id ID) number() int64 {
	n, err := strconv.ParseInt(string(id), 10, 64)
	if err != nil || n <= 0 || len(id) > maxDigits || string(id) != strconv.FormatInt(n, 10) {
		return 0
	}
	return n
}

func (id ID) valid() bool { return id.number() > 0 }

// Status is a task's state on the board.
type Status string

const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
	Deleted    Status = "deleted" // read only: counts as deleted
)

// Task is one task file (protocol §4). Unknown keys and key order survive a rewrite.
type Task struct {
	ID          ID
	Subject     string
	Description string // the instructions, as record.Task and the team file call them; the task file has this name
	ActiveForm  string // shown while the task is in progress: "Running the tests"
	Owner       string // member name; "": no owner
	Status      Status
	Blocks      []ID
	BlockedBy   []ID
	// Metadata is free. Setting a value to nil or null removes its key.
	Metadata map[string]json.RawMessage
	kept     *keptKeys
}

// keptKeys is what a parsed task remembers of its file. It is never changed.
type keptKeys struct {
	object *jsonobj.Object
	read   Task
}

// Unknown returns the raw value of a key that Task has no field for.
func (t Task) Unknown(key string) (json.RawMessage, bool) {
	if t.kept == nil || slices.Contains(taskKeys, key) {
		return nil, false
	}
	raw, ok := t.kept.object.Get(key)
	return slices.Clone(raw), ok
}

// fields, in the order of the real client (protocol §4).
var fields = []jsonobj.Field[Task]{
	idField("id", func(t *Task) *ID { return &t.ID }),
	jsonobj.Text("subject", jsonobj.Write, func(t *Task) *string { return &t.Subject }),
	jsonobj.Text("description", jsonobj.Write, func(t *Task) *string { return &t.Description }),
	jsonobj.Text("activeForm", jsonobj.Omit, func(t *Task) *string { return &t.ActiveForm }),
	jsonobj.Text("owner", jsonobj.Keep, func(t *Task) *string { return &t.Owner }),
	jsonobj.Text("status", jsonobj.Write, func(t *Task) *Status { return &t.Status }),
	idsField("blocks", func(t *Task) *[]ID { return &t.Blocks }),
	idsField("blockedBy", func(t *Task) *[]ID { return &t.BlockedBy }),
	metadataField,
}

var taskKeys = jsonobj.Order(fields)

// readID accepts the number 3 for the string "3".
func readID(raw json.RawMessage) (ID, bool) {
	if s, ok := jsonobj.String(raw); ok {
		return ID(s), true
	}
	return ID(raw), jsonobj.TypeOf(raw) == "number"
}

func idField(key string, at func(*Task) *ID) jsonobj.Field[Task] {
	f := jsonobj.Text(key, jsonobj.Write, at)
	f.Read = func(raw json.RawMessage, t *Task) error {
		id, ok := readID(raw)
		if !ok {
			return fmt.Errorf("is %s, want string", jsonobj.TypeOf(raw))
		}
		*at(t) = id
		return nil
	}
	return f
}

func idsField(key string, at func(*Task) *[]ID) jsonobj.Field[Task] {
	f := jsonobj.Texts(key, jsonobj.Write, at)
	f.Read = func(raw json.RawMessage, t *Task) error {
		elements, ok := jsonobj.Elements(raw)
		if !ok {
			return fmt.Errorf("is %s, want array", jsonobj.TypeOf(raw))
		}
		var ids []ID
		for _, e := range elements {
			id, ok := readID(e)
			if !ok {
				return fmt.Errorf("holds %s, want strings", jsonobj.TypeOf(e))
			}
			ids = append(ids, id)
		}
		*at(t) = ids
		return nil
	}
	return f
}

var metadataField = jsonobj.Field[Task]{
	Key: "metadata", Rule: jsonobj.Keep,
	Read: func(raw json.RawMessage, t *Task) error {
		if kind := jsonobj.TypeOf(raw); kind != "object" {
			return fmt.Errorf("is %s, want object", kind)
		}
		object, err := jsonobj.Parse(raw)
		if err != nil {
			return err
		}
		t.Metadata = make(map[string]json.RawMessage, object.Len())
		for _, key := range object.Keys() {
			t.Metadata[key], _ = object.Get(key)
		}
		return nil
	},
	Same: func(a, b *Task) bool {
		return maps.EqualFunc(a.Metadata, b.Metadata, func(x, y json.RawMessage) bool { return bytes.Equal(x, y) })
	},
	Append: func(dst []byte, old json.RawMessage, t *Task) []byte {
		object := &jsonobj.Object{}
		if jsonobj.TypeOf(old) == "object" {
			object, _ = jsonobj.Parse(old) // it is part of an object that was parsed
		}
		for _, key := range object.Keys() {
			if _, ok := t.Metadata[key]; !ok {
				object.Delete(key)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(t.Metadata)) {
			value := t.Metadata[key]
			switch before, ok := object.Get(key); {
			case ok && bytes.Equal(before, value):
			case gone(value):
				object.Delete(key)
			default:
				object.Set(key, value)
			}
		}
		return object.Append(dst, 0)
	},
	Empty: func(t *Task) bool {
		for _, value := range t.Metadata {
			if !gone(value) {
				return false
			}
		}
		return true
	},
}

// gone reports whether a metadata value removes its key.
func gone(value json.RawMessage) bool {
	return !json.Valid(value) || jsonobj.TypeOf(value) == "null"
}

// checkMetadata reports a value that is neither nil nor JSON.
func (t *Task) checkMetadata() error {
	for _, key := range slices.Sorted(maps.Keys(t.Metadata)) {
		if value := t.Metadata[key]; len(value) > 0 && !json.Valid(value) {
			return fmt.Errorf("metadata %q is not valid JSON", key)
		}
	}
	return nil
}

// Parse reads a task file. It fails with a *CorruptError without Path when data is not a JSON
// object. Other errors are listed in problems and leave their field empty. Keys are compared
// exactly; of duplicates the last one counts; ids may be numbers. data is not kept.
func Parse(data []byte) (t Task, problems []string, err error) {
	object, err := jsonobj.Parse(data)
	if err != nil {
		if bad, ok := errors.AsType[*jsonobj.Error](err); ok {
			return Task{}, nil, &CorruptError{Offset: bad.Offset, Why: bad.Why}
		}
		return Task{}, nil, err
	}
	for _, key := range object.Duplicates() {
		problems = append(problems, fmt.Sprintf("key %q occurs more than once", key))
	}
	for _, p := range jsonobj.Read(object, fields, &t) {
		problems = append(problems, p.Key+" "+p.Why)
	}
	if !t.ID.valid() {
		problems = append(problems, fmt.Sprintf("id %.20q is not a task id", string(t.ID)))
		t.ID = ""
	}
	switch t.Status {
	case Pending, InProgress, Completed, Deleted:
	default:
		problems = append(problems, fmt.Sprintf("status %.40q is not known", string(t.Status)))
	}
	read := t
	read.Blocks, read.BlockedBy = slices.Clone(t.Blocks), slices.Clone(t.BlockedBy)
	read.Metadata = maps.Clone(t.Metadata)
	t.kept = &keptKeys{object: object, read: read}
	return t, problems, nil
}

// AppendJSON writes the task as JSON.stringify(x, null, 2) does, without a final newline. Fields
// that were not changed since Parse keep their bytes; a new task has the key order of protocol §4.
// Metadata that is not valid JSON is left out.
func (t Task) AppendJSON(dst []byte) []byte {
	object := &jsonobj.Object{}
	var old *Task
	if t.kept != nil {
		object, old = t.kept.object.Clone(), &t.kept.read
	}
	jsonobj.Update(object, fields, old, &t)
	return object.Append(dst, 0)
}

// Blocked returns the blockers of t that exist and are not completed. A blocker that is not in all
// does not exist (protocol §4).
func Blocked(t Task, all []Task) []ID {
	var open []ID
	for _, id := range t.BlockedBy {
		i := slices.IndexFunc(all, func(b Task) bool { return b.ID == id })
		if i >= 0 && all[i].open() && !slices.Contains(open, id) {
			open = append(open, id)
		}
	}
	return open
}

// open reports whether others have to wait for t.
func (t Task) open() bool { return t.Status != Completed && t.Status != Deleted }
