COURSE = "flashattention-course"
