package operator

// ResolveBackend says what a word means in an environment.
func ResolveBackend(env []string, word string, attended bool) (string, error) {
	return Operator{Environ: env}.resolveBackend(word, attended)
}
