"""The column `% of limit`: how near a time comes to the machine's limit, by the roofline model."""
