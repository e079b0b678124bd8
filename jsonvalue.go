package waggle

import (
	"waggle/internal/jsonscan"
	"waggle/internal/jsontext"
)

// The functions of this file take apart JSON that scan has accepted. They look
// one level deep and share the bytes of the text, so that a value can be kept
// exactly as it stood.

// member is one key of an object, with its value's bytes.
type member struct {
	key string // unquoted
	lit string // the key as written, with quotes
	raw string // the value as written
}

// members splits an object, in the order of the text, duplicates included.
func members(object string) []member {
	list := make([]member, 0, 8)
	for i := jsonscan.Space(object, 1); i < len(object) && object[i] != '}'; {
		end := jsonscan.ValueEnd(object, i)
		m := member{lit: object[i:end]}
		m.key = jsontext.Unquote(m.lit)
		i = jsonscan.Space(object, jsonscan.Space(object, end)+1) // over the colon
		end = jsonscan.ValueEnd(object, i)
		m.raw = object[i:end]
		list = append(list, m)
		i = jsonscan.Space(object, end)
		if i < len(object) && object[i] == ',' {
			i = jsonscan.Space(object, i+1)
		}
	}
	return list
}

// items splits an array.
func items(array string) []string {
	var list []string
	for i := jsonscan.Space(array, 1); i < len(array) && array[i] != ']'; {
		end := jsonscan.ValueEnd(array, i)
		list = append(list, array[i:end])
		i = jsonscan.Space(array, end)
		if i < len(array) && array[i] == ',' {
			i = jsonscan.Space(array, i+1)
		}
	}
	return list
}
