package live

// InFile is what a call changes in its file.
var InFile = inFile

// Watched are the directories that Watch watches.
var Watched = (*Source).dirs
