// Package jsonfile reads and replaces whole files of JSON: what one process of waggle keeps for the next.
//
//	err := jsonfile.WriteLine(path, v, atomicfile.Options{})
//	err = jsonfile.Read(path, &v, 64<<10)
package jsonfile

import (
	"encoding/json"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/json/jsonobj"
)

// Read decodes the file at path into v. It refuses what atomicfile.ReadFile does, with more than limit bytes. A file
// whose content does not decode is an *atomicfile.RecordError.
func Read(path string, v any, limit int64) error {
	return read(path, v, limit, atomicfile.ReadFile)
}

// ReadRecord is Read for a file that the caller sets aside when it is no record: what is not a regular file, or too
// large, is an *atomicfile.RecordError too.
func ReadRecord(path string, v any, limit int64) error {
	return read(path, v, limit, atomicfile.ReadRecord)
}

func read(path string, v any, limit int64, file func(string, atomicfile.Options) ([]byte, error)) error {
	b, err := file(path, atomicfile.Options{MaxSize: limit})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return &atomicfile.RecordError{Path: path, Err: err}
	}
	return nil
}

// Write replaces the file at path by v, without a line end.
func Write(path string, v any, o atomicfile.Options) error {
	return write(path, v, jsonobj.Marshal, "", o)
}

// WriteLine replaces the file at path by v as one line.
func WriteLine(path string, v any, o atomicfile.Options) error {
	return write(path, v, jsonobj.Marshal, "\n", o)
}

// WriteIndent replaces the file at path by v, indented for people.
func WriteIndent(path string, v any, o atomicfile.Options) error {
	return write(path, v, jsonobj.MarshalIndent, "\n", o)
}

func write(path string, v any, marshal func(any) ([]byte, error), end string, o atomicfile.Options) error {
	b, err := marshal(v)
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(path, append(b, end...), o)
}
