// Package claudesettings puts the hooks of waggle into a settings file of Claude Code and
// takes them out again, and keeps every other byte of the file.
//
//	store := claudesettings.Store{Dir: filepath.Join(state, "hooks"), Now: time.Now}
//	change, err := store.Install(path, program)   // or store.Uninstall(path)
//	fmt.Print(change.Diff())
//	err = store.Apply(ctx, change)
//
// Install and Uninstall read the file and say what would become of it; Apply writes
// exactly that, or returns a *RefusedError when the file is another by then. The store
// keeps the bytes that the file had before and those that it wrote, so that Uninstall
// restores the file byte for byte while nobody else has written it. When somebody has,
// Uninstall removes the entries of waggle and nothing else.
//
// An entry is recognised by its command: a program whose name begins with "waggle", or
// the one that the store has recorded, and then "hook claude EVENT". Whether the file is
// a link does not matter: the link stays and its target is edited. Files that an
// administrator manages are read for what they switch off, and never written.
package claudesettings
