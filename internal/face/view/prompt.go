package view

// AttachmentDocument is the message of seed 003 that has unread mail in it.
type AttachmentDocument struct {
	Type    string                    `json:"type"` // user
	Message AttachmentMessageDocument `json:"message"`
	IsMeta  bool                      `json:"isMeta"`
}

// AttachmentMessageDocument is its content.
type AttachmentMessageDocument struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Attachments is the document of unread mail as one message for an agent: an empty list
// where nothing is unread.
func Attachments(prompt string) []AttachmentDocument {
	if prompt == "" {
		return []AttachmentDocument{}
	}
	return []AttachmentDocument{{"user", AttachmentMessageDocument{"user", prompt}, true}}
}
