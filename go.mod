module southbound

go 1.26
