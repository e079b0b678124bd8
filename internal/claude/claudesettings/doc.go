// Package claudesettings puts the hooks of waggle into a settings file of Claude Code, or of another
// client with settings of the same form, takes them out again, and keeps every other byte of the file.
//
//	store := claudesettings.Store{Dir: filepath.Join(state, "hooks"), Now: time.Now}
//	change, err := store.Install(path, program)   // or store.Uninstall(path)
//	fmt.Print(change.Diff())
//	err = store.Apply(ctx, change)
//
// Install and Uninstall read the file and return the change; Apply writes exactly that, or returns
// a *RefusedError when the file has changed since. The store keeps the bytes that the file had
// before and those that it wrote, so that Uninstall restores the file byte for byte while no other
// program has written it. When one has, Uninstall removes the entries of waggle and nothing else.
//
// An entry is recognised by its command: a program whose name begins with "waggle", or the one that
// the store has recorded, and then "hook CLIENT EVENT". A link at the path stays, and its target is
// edited. Files that an administrator manages are read for what they switch off, and never written.
package claudesettings
