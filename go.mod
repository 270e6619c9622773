module southbound

go 1.26

require (
	github.com/adhocore/gronx v1.20.4 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
)
