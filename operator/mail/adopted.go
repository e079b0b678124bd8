package mail

// BackendAdopted is the backend of a member that waggle did not start.
const BackendAdopted = "adopted"
