package sentence

// Sandboxed says what sandboxed: allow does.
const Sandboxed = "a shell call that runs wholly inside a verified sandbox is allowed without asking; elsewhere it asks"
