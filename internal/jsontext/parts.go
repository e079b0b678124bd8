package jsontext

import "waggle/internal/jsonscan"

// The functions of this file take apart JSON that a strict scanner has accepted. They
// look one level deep and share the bytes of the text, so that a value can be kept
// exactly as it stood.

// Member is one key of an object, with its value's bytes.
type Member struct {
	Key string // unquoted
	Lit string // the key as written, with quotes
	Raw string // the value as written
}

// Members splits an object, in the order of the text, duplicates included.
func Members(object string) []Member {
	list := make([]Member, 0, 8)
	for i := jsonscan.Space(object, 1); i < len(object) && object[i] != '}'; {
		end := jsonscan.ValueEnd(object, i)
		m := Member{Lit: object[i:end]}
		m.Key = Unquote(m.Lit)
		i = jsonscan.Space(object, jsonscan.Space(object, end)+1) // over the colon
		end = jsonscan.ValueEnd(object, i)
		m.Raw = object[i:end]
		list = append(list, m)
		i = jsonscan.Space(object, end)
		if i < len(object) && object[i] == ',' {
			i = jsonscan.Space(object, i+1)
		}
	}
	return list
}

// Items splits an array.
func Items(array string) []string {
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
